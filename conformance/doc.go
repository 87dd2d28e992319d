// Package conformance tells whether an implementation keeps the Service Binding Specification for Kubernetes: it holds
// each obligation of the text as a clause with a test, and runs them against a cluster.
//
// It promises to judge by what a container would get and what the API server stores, whatever way an implementation
// takes there: it knows the specification and Kubernetes, and nothing of any implementation. It cleans up after itself
// and every wait in it ends. It refuses to call an obligation kept that it could not try: what only a kubelet can show
// is reported as not run where there is no node.
//
//	report, err := conformance.Run(ctx, config, conformance.Options{})
//	if err == nil && !report.Conformant() {
//		report.WriteText(os.Stdout)
//	}
//
// Inventory lists every sentence of the specification that obliges, with the clauses that test it or the reason why none
// can.
package conformance
