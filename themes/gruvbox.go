package themes

// gruvbox is the palette of that name: warm and retro.
var gruvbox = Palette{
	Name: "gruvbox", Dark: true,
	Text: "#ebdbb2", Dim: "#a89984", Faint: "#665c54",
	Title: "#fbf1c7", Accent: "#83a598",
	Border: "#504945", Selected: "#3c3836", Raised: "#32302f", Window: "#282522",
	Admitted: "#b8bb26", Denied: "#fb5f4c", Near: "#fabd2f",
	Injected: "#d3a6c8", Unknown: "#928374", Good: "#b8bb26",
	Previous: "#83a598", Current: "#8ec07c",
}
