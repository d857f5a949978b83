package themes

// mocha is the darkest Catppuccin: pastel on brown-blue.
var mocha = Palette{
	Name: "catppuccin", Dark: true,
	Text: "#cdd6f4", Dim: "#a0a8c8", Faint: "#52556b",
	Title: "#e6ebff", Accent: "#89b4fa",
	Border: "#45475a", Selected: "#313244", Raised: "#2a2b3d", Window: "#2f3746",
	Admitted: "#a6e3a1", Denied: "#f38ba8", Near: "#f9d38a",
	Injected: "#cba6f7", Unknown: "#969bb4", Good: "#a6e3a1",
	Previous: "#89dceb", Current: "#a6e3a1",
}
