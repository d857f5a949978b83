package tuitest

import (
	"math"

	"ratescope/themes"
)

// Contrast is the contrast ratio of two colours as WCAG 2.2 has it, from 1 to 21.
func Contrast(a, b themes.Ink) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(k themes.Ink) float64 {
	r, g, b, _ := k.RGB()
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

// linear undoes the gamma of sRGB.
func linear(v uint8) float64 {
	c := float64(v) / 255
	if c <= 0.04045 {
		return c / 12.92
	}
	return math.Pow((c+0.055)/1.055, 2.4)
}

// Ground is about what a terminal's own background is, for a dark theme or a light one.
func Ground(dark bool) themes.Ink {
	if dark {
		return themes.Hex("#11131a")
	}
	return themes.Hex("#fbfbf8")
}
