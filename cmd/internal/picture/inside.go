package picture

// Internal functions of the other packages of the module.
var ()
