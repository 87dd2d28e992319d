// Package layers checks, by its tests, that the module's packages depend on each other in one direction only, and that the
// packages meant for other programs stay light. It holds nothing to import.
package layers
