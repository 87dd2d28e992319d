package sandbox

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// identity is who this process is, and what it may do.
type identity struct {
	uid, gid     int
	groups       []int
	capabilities capabilitySet
	// passwd reads the users of this machine, for a user's primary group.
	passwd func() (io.ReadCloser, error)
}

// credentials are what the program gets.
//
// It is sent to the second stage by gob, so its fields are exported.
type credentials struct {
	// Become says to set the ids and groups; otherwise they stay.
	Become   bool
	UID, GID int
	Groups   []int
	// Bound says to keep no capability but those listed.
	Bound      bool
	Keep       capabilitySet
	NoNewPrivs bool
}

// credentialsFor decides what the program gets, and lists what cannot be honoured.
func credentialsFor(wanted Security, own identity) (credentials, []string, error) {
	if err := idsOf(wanted); err != nil {
		return credentials{}, nil, err
	}
	c := credentials{UID: own.uid, GID: own.gid, NoNewPrivs: wanted.NoNewPrivileges}
	if wanted.User != nil {
		c.UID = int(*wanted.User)
	}
	if wanted.RunAsNonRoot && c.UID == 0 {
		return c, nil, &RootError{}
	}
	unmet, err := c.become(wanted, own)
	if err != nil {
		return c, nil, err
	}
	if len(wanted.Drop)+len(wanted.Add) == 0 {
		return c, unmet, nil
	}
	keep, missing, err := capabilitiesFor(own.capabilities, wanted.Drop, wanted.Add)
	if err != nil {
		return c, nil, err
	}
	for _, name := range missing {
		unmet = append(unmet, "capability "+name+" cannot be added: this process does not have it")
	}
	c.Bound, c.Keep = len(wanted.Drop) > 0, keep
	return c, unmet, nil
}

// idsOf refuses numbers that Kubernetes would refuse too. To Linux, some of them mean that nothing is to change.
func idsOf(wanted Security) error {
	ids := slices.Clone(wanted.Groups)
	for _, id := range []*int64{wanted.User, wanted.Group} {
		if id != nil {
			ids = append(ids, *id)
		}
	}
	for _, id := range ids {
		if id < 0 || id > math.MaxInt32 {
			return &SpecError{Field: "security context", Problem: strconv.FormatInt(id, 10) + " is no id of a user or group"}
		}
	}
	return nil
}

// become sets the ids and groups: any of them for root, else no others than the present ones.
func (c *credentials) become(wanted Security, own identity) ([]string, error) {
	if own.uid != 0 {
		return lackingGroups(wanted.Groups, own), stay(wanted, own)
	}
	c.Become = wanted.User != nil || wanted.Group != nil || len(wanted.Groups) > 0
	if wanted.User != nil {
		c.GID = primaryGroup(c.UID, own.passwd)
	}
	if wanted.Group != nil {
		c.GID = int(*wanted.Group)
	}
	for _, group := range wanted.Groups {
		c.Groups = append(c.Groups, int(group))
	}
	return nil, nil
}

// stay refuses ids other than the present ones.
func stay(wanted Security, own identity) error {
	if wanted.User != nil && *wanted.User != int64(own.uid) {
		return &CannotBecomeError{What: "user", ID: *wanted.User, Own: own.uid}
	}
	if wanted.Group != nil && *wanted.Group != int64(own.gid) {
		return &CannotBecomeError{What: "group", ID: *wanted.Group, Own: own.gid}
	}
	return nil
}

func lackingGroups(wanted []int64, own identity) []string {
	var unmet []string
	for _, group := range wanted {
		if int(group) != own.gid && !slices.Contains(own.groups, int(group)) {
			unmet = append(unmet, "group "+strconv.FormatInt(group, 10)+" cannot be added: only root can, and this user is not in it")
		}
	}
	return unmet
}

// primaryGroup is the group that the machine's users file gives a user. A user that is not in it gets a group of the same
// number: Kubernetes would take 0, which on a person's machine is root's.
func primaryGroup(uid int, passwd func() (io.ReadCloser, error)) int {
	file, err := passwd()
	if err != nil {
		return uid
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		const uidField, gidField, fields = 2, 3, 4
		entry := strings.Split(lines.Text(), ":")
		if len(entry) < fields || entry[uidField] != strconv.Itoa(uid) {
			continue
		}
		if gid, err := strconv.Atoi(entry[gidField]); err == nil {
			return gid
		}
	}
	return uid
}

// owner is whose the program's private folder is.
func (c *credentials) owner() (int, int) { return c.UID, c.GID }

// keepsIdentity says whether the program runs under the ids that this process has.
func (c *credentials) keepsIdentity() bool { return !c.Become }
