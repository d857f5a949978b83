package themes

// dracula is the palette of that name: vivid on violet.
var dracula = Palette{
	Name: "dracula", Dark: true,
	Text: "#f8f8f2", Dim: "#a3adcc", Faint: "#565f7e",
	Title: "#ffffff", Accent: "#8be9fd",
	Border: "#4a5070", Selected: "#343746", Raised: "#2f3140", Window: "#2b3940",
	Admitted: "#50fa7b", Denied: "#ff7676", Near: "#ffb86c",
	Injected: "#d6acff", Unknown: "#97a0c0", Good: "#50fa7b",
	Previous: "#8be9fd", Current: "#50fa7b",
}
