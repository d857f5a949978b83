package plural_test

import (
	"fmt"

	"ratescope/model/plural"
)

func ExampleOf() {
	fmt.Println(plural.Of(0, "key"))
	fmt.Println(plural.Of(1, "key"))
	fmt.Println(plural.Of(3, "batch"))
	// Output:
	// 0 keys
	// 1 key
	// 3 batches
}

func ExampleAre() {
	fmt.Println(plural.Are(1, "key") + " stale")
	fmt.Println(plural.Are(2, "key") + " stale")
	// Output:
	// 1 key is stale
	// 2 keys are stale
}
