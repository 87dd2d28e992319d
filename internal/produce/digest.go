package produce

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
)

// digest tells two states of a Secret apart without holding either.
func digest(kind string, data map[string][]byte) string {
	h := sha256.New()
	put(h, []byte(kind))
	for _, key := range slices.Sorted(maps.Keys(data)) {
		put(h, []byte(key))
		put(h, data[key])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// put writes a text with its length before it, so that no two lists of texts come out the same.
func put(h hash.Hash, text []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(text)))
	_, _ = h.Write(length[:])
	_, _ = h.Write(text)
}
