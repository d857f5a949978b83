package themes

// paper is the default on light terminals: ink on paper, for projectors and daylight.
var paper = Palette{
	Name: "paper", Dark: false,
	Text: "#24292f", Dim: "#5b6470", Faint: "#a9b1ba",
	Title: "#0d1117", Accent: "#0b5fc0",
	Border: "#c3cad2", Selected: "#dcebfb", Raised: "#eaeef2",
	Admitted: "#127a49", Denied: "#c4232f", Near: "#a15c00",
	Injected: "#7a35c9", Unknown: "#6e7781", Good: "#127a49",
	Window:   "#eff4f8",
	Previous: "#1f7696", Current: "#127a49",
}
