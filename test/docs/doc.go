// Package docs holds the documents to the code: what they name exists, what exists is named, what they show is accepted
// by a real API server, and what they tell the reader to type does what they say. It has tests only.
package docs
