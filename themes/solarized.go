package themes

// solarized is the light one of Solarized, its greys darkened for legibility.
var solarized = Palette{
	Name: "solarized-light", Dark: false,
	Text: "#39474b", Dim: "#566870", Faint: "#a5afae",
	Title: "#073642", Accent: "#176aa6",
	Border: "#c9c5b1", Selected: "#e9e2cb", Raised: "#eee8d5", Window: "#f3edda",
	Admitted: "#5c6b00", Denied: "#c32826", Near: "#946c00",
	Injected: "#5b5fb8", Unknown: "#6f7b7c", Good: "#5c6b00",
	Previous: "#1c7f78", Current: "#5c6b00",
}
