// Package release holds the script that publishes the modules of this repository, and the test that
// fetches them as a consumer does.
package release
