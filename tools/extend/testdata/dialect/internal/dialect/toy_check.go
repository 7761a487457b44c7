package dialect

// check raises the faults that show in the finished transcript.
func (toy) check(c *checker) {
	c.pairs()
	c.judgeNotes()
}
