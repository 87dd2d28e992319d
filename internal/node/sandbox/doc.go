// Package sandbox runs a program on this machine as a container's process runs on a node: with volumes at the paths where
// the container has them, in memory, under the user, groups and capabilities that its security context asks for.
//
// A second stage of the same binary (Stage, which main calls first) is started in mount namespace of its own; for users
// other than root in a user namespace with their own uid and gid as well. It makes the file systems, hands folders of them
// to the supervisor over a socket, waits, mounts, takes the credentials and becomes the program by execve. So the program
// is a direct child of the supervisor, in the same session and foreground process group, with the same standard streams.
// Neither secrets nor the program's environment are ever in an argument or in the environment of the second stage.
//
// Nothing is created on the host, mount points included. Where the path of a mount does not exist, the nearest folder that
// does is covered by one in memory that shows the same entries (each of them mounted, links made anew), `/` if need be.
// What the program creates directly in such a folder is lost when it ends, and what others create there later stays unseen.
//
// However the supervisor ends, the program gets SIGTERM from the kernel (unless it is set-user-ID; its own children do
// not), and the kernel clears the memory when the last process of the namespace is gone. The reservation, and the private
// folder where there was no namespace, are cleared by the next run of the same user.
//
// What one program cannot read of another: the files of runs under another uid, whatever the mode; the files of runs in
// another user namespace, that is of any run not started by root, under the same uid too. Two programs that root starts
// under one uid see other mounts, but can reach each other through /proc/PID/root, as two such containers with a shared
// process namespace could. Memory may be swapped out unless root mounts it (Linux 6.4 and later), so swap wants encryption.
//
// The package refuses to invent what it cannot give: a uid or gid that this user cannot take is an error; what else could
// not be honoured is told by Unmet. It fetches nothing, writes no secret and knows nothing of Kubernetes.
package sandbox
