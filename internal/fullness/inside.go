package fullness

// What other packages of this module keep for it.
var ()
