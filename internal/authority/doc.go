// Package authority decides whether a person may have what a binding would do for them: nobody gains through a binding
// what they could not already read or write. It asks the API server, by SubjectAccessReview, on behalf of whoever makes
// the request, and answers the same whether or not the objects exist.
//
// It remembers no permission, reads no object, and never takes the lack of an answer for a yes.
package authority
