package themes

// gruvbox is the palette of that name: warm and retro.
var gruvbox = Palette{
	Name: "gruvbox", Dark: true,
	Text: "#ebdbb2", Dim: "#afa18d", Faint: "#665c54",
	Title: "#fbf1c7", Accent: "#89aa9d",
	Border: "#504945", Selected: "#3c3836", Raised: "#32302f", Window: "#31383b",
	Admitted: "#b8bb26", Denied: "#fc7d6d", Near: "#fabd2f",
	Injected: "#d3a6c8", Unknown: "#aca195", Good: "#b8bb26",
	Previous: "#89aa9d", Current: "#8ec07c",
}
