package report

// What the tests use beside the exported names.
var (
	Finite     = finite
	ShellQuote = shellQuote
)
