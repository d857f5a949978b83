package themes

// highContrast is for bright rooms and tired eyes: nothing on it is dim.
var highContrast = Palette{
	Name: "high-contrast", Dark: true,
	Text: "#ffffff", Dim: "#e0e0e0", Faint: "#a0a0a0",
	Title: "#ffffff", Accent: "#66d9ff",
	Border: "#b8b8b8", Selected: "#003a66", Raised: "#1c1c1c", Window: "#283943",
	Admitted: "#3dff8f", Denied: "#ff7878", Near: "#ffd400",
	Injected: "#e39cff", Unknown: "#c8c8c8", Good: "#3dff8f",
	Previous: "#66d9ff", Current: "#3dff8f",
}
