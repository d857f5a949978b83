package themes

// phosphor is the default on dark terminals: the green of an oscilloscope's trace,
// with warm colours kept for what needs a person.
var phosphor = Palette{
	Name: "phosphor", Dark: true,
	Text: "#d7dce2", Dim: "#8b949e", Faint: "#4a525c",
	Title: "#f0f3f6", Accent: "#6cb6ff",
	Border: "#39424d", Selected: "#1d2a3a", Raised: "#202833",
	Admitted: "#3fd08c", Denied: "#ff6370", Near: "#f2b143",
	Injected: "#c79bff", Unknown: "#89919a", Good: "#3fd08c",
	Window:   "#2c3848",
	Previous: "#4aa3c7", Current: "#3fd08c",
}
