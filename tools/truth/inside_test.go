package truth

// These give access to the parts of packages that only this module uses.
var ()
