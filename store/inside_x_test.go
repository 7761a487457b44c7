package store_test

// Internal functions of other packages.
var ()
