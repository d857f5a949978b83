// Package absent tells arguments that are not there, whatever their type.
package absent

import "reflect"

// Value reports whether v is nil, or holds a pointer, function, map or channel that is: an
// interface with such a value in it is not nil, and panics when it is used.
func Value(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan, reflect.Interface, reflect.Slice:
		return r.IsNil()
	default:
		return false
	}
}
