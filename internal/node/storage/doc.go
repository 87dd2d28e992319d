// Package storage gives each run on this machine its share of memory for secrets. A run reserves the bytes it wants before
// it writes any; all runs of one user share one budget; what a dead run left behind is cleared by the next one.
//
// A reservation is a small file that its run keeps locked: the lock goes with the process, however that ends, so a file
// that can be locked belongs to a dead run. The files lie in a folder of the user's own on a file system in memory
// ($XDG_RUNTIME_DIR, /run/user/UID or /dev/shm, the first of them that is one; for root /dev/shm first). The budget is therefore one per user, and
// root's for what root runs: users cannot lock, count or clear each other's.
//
// The package refuses to hold secrets on a disk unless it is told to, trusts no folder that another user could have made
// or can write to, and follows no link in a folder that everyone may write to. It writes no secret itself.
package storage
