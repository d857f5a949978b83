package format

import (
	"fmt"
)

func ExamplePlural() {
	fmt.Println(Plural(0, "key"))
	fmt.Println(Plural(1, "key"))
	fmt.Println(Plural(3, "batch"))
	// Output:
	// 0 keys
	// 1 key
	// 3 batches
}

func ExampleAre() {
	fmt.Println(Are(1, "key") + " stale")
	fmt.Println(Are(2, "key") + " stale")
	// Output:
	// 1 key is stale
	// 2 keys are stale
}
