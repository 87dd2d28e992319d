// Package canary sends random values through all that Bowline does and then looks for them everywhere but where they
// belong: in the controller's logs and metrics, in every object that is not a Secret, and in the audit log with all requests
// and responses. It has tests only.
package canary
