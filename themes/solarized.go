package themes

// solarized is the light one of Solarized, its greys darkened for legibility.
var solarized = Palette{
	Name: "solarized-light", Dark: false,
	Text: "#39474b", Dim: "#55676f", Faint: "#a5afae",
	Title: "#073642", Accent: "#1768a4",
	Border: "#c9c5b1", Selected: "#e9e2cb", Raised: "#eee8d5", Window: "#bfced7",
	Admitted: "#5c6b00", Denied: "#c02725", Near: "#825e00",
	Injected: "#575bb1", Unknown: "#5c6667", Good: "#5c6b00",
	Previous: "#186f69", Current: "#5c6b00",
}
