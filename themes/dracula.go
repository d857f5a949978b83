package themes

// dracula is the palette of that name: vivid on violet.
var dracula = Palette{
	Name: "dracula", Dark: true,
	Text: "#f8f8f2", Dim: "#a3adcc", Faint: "#565f7e",
	Title: "#ffffff", Accent: "#8be9fd",
	Border: "#4a5070", Selected: "#343746", Raised: "#2f3140", Window: "#242634",
	Admitted: "#50fa7b", Denied: "#ff6666", Near: "#ffb86c",
	Injected: "#d6acff", Unknown: "#8a94b8", Good: "#50fa7b",
	Previous: "#8be9fd", Current: "#50fa7b",
}
