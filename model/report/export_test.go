package report

// Finite is finite, for the tests.
var Finite = finite
