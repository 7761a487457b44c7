package store

// Routes are the rows of the handler's table, for the tests.
func Routes() (all [][2]string) {
	for _, r := range routes {
		all = append(all, [2]string{r.method, r.path})
	}
	return all
}
