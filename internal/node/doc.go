// Package node decides what a process on this machine gets of what the kubelet would give a container: the files of its
// volumes, where they are mounted, its environment, its command and its security context.
//
// It is pure: it reads a workload as the API server returns it and the objects that it names, and returns values. It
// opens no file, asks no API server and starts no process; internal/node/volume writes the files. Needs says which
// objects a container refers to, so that a caller fetches those and no others.
//
// What Kubernetes 1.36 does is done here, bit for bit where a program can see it. What this machine cannot give is
// refused with an UnsupportedError instead of being left out, unless the container does not mount it. Left out on
// purpose is what no pod template says and the cluster adds to a pod that it runs: the variables that describe Services
// (ORDERS_SERVICE_HOST), and the volume with API credentials that admission adds for the service account.
//
// A pod template has no pod. Where a program asks for the name or the uid of its pod it gets those of the workload, which
// are the nearest to what a person would expect; node name and addresses are those of the machine that it runs on.
package node
