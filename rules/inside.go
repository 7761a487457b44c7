package rules

// parex and wirex are functions that those packages share within this module.
var ()
