package themes

// paper is the default on light terminals: ink on paper, for projectors and daylight.
var paper = Palette{
	Name: "paper", Dark: false,
	Text: "#24292f", Dim: "#5b6470", Faint: "#a9b1ba",
	Title: "#0d1117", Accent: "#0b5fc0",
	Border: "#c3cad2", Selected: "#dcebfb", Raised: "#eaeef2",
	Admitted: "#117546", Denied: "#c4232f", Near: "#975600",
	Injected: "#7a35c9", Unknown: "#5f666f", Good: "#117546",
	Window:   "#c0cedd",
	Previous: "#1d6d8b", Current: "#117546",
}
