package planner

// wirex has the functions of package wire that only this module may call.
