package identify

// Fit is a reading that fits the limiters of a group, as a rule of the configuration.
type Fit struct {
	As      string    // what the keys are then
	Note    string    // what the rule does not settle; "" nothing
	Unsure  string    // what tells it from those beside it in a list that have the same words, and fit as well; "" none does
	Rule    string    // as the configuration has it
	Figures []Figures // what it gives for some of the keys now

	// Write writes the rule, and applies it; nil while its limit is not told. The error is one sentence.
	Write func() (Taught, error)
}

// Figures are what a reading gives for one key.
type Figures struct {
	Key   string
	Shape string // what the key is, without what it holds
	Says  string // how much is used, and when it is free; or why that is not known
}

// Taught is a rule that was written.
type Taught struct {
	Where string       // the file; "" where there is no folder for it, so that the rule ends with the program
	Undo  func() error // takes the rule back; the error is one sentence
}
