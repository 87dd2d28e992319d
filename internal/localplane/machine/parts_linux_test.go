package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMountsBelow(t *testing.T) {
	t.Parallel()
	const table = `22 1 254:0 / / rw - ext4 /dev/vda rw
30 22 0:40 / /data/node rw - tmpfs tmpfs rw
31 30 0:41 / /data/node/first rw shared:1 - tmpfs tmpfs rw
32 31 0:42 / /data/node/first/second\040with\134odd\011name rw - tmpfs tmpfs rw
33 22 0:43 / /data/node-of-others rw - tmpfs tmpfs rw
34 22 0:44 / /run/other/data/node/x rw - tmpfs tmpfs rw
35 22 0:45 / /run/mine/x rw - tmpfs tmpfs rw
broken
`
	want := []string{"/run/mine/x", "/data/node/first/second with\\odd\tname", "/data/node/first"}
	if diff := cmp.Diff(want, mountsBelow(table, []string{"/data/node", "/run/mine"})); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
}

func TestUnescape(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"": "", "/plain": "/plain", `/a\040b`: "/a b", `\134040`: `\040`, `/end\04`: `/end\04`, `/no\999`: `/no\999`, `/\`: `/\`,
	} {
		if got := unescape(path); got != want {
			t.Errorf("unescape(%q) = %q, want %q", path, got, want)
		}
	}
}
