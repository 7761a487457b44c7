package refusal

// What other packages of this module keep for it.
