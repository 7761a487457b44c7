package serve_test

// What other packages of this module keep for it.
var ()
