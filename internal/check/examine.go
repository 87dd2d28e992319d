package check

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/bindings/catalogue"
	"github.com/bowline-dev/bowline/internal/node"
)

const (
	secretTypePrefix = "servicebinding.io/"
	// maxSecret is what the API server takes.
	maxSecret = 1 << 20
)

var (
	// entryName is what the specification asks of the name of an entry, and of a binding.
	entryName = regexp.MustCompile(`^[a-z0-9\-.]{1,253}$`)
	// secretKey is what the API server takes for the key of a Secret.
	secretKey = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)
)

// examination is one subject while it is looked at.
type examination struct {
	subject        *Subject
	now            time.Time
	kind, provider string
	found          []Finding
}

func (e *examination) add(severity Severity, rule, entry, message string) {
	e.found = append(e.found, Finding{Severity: severity, Rule: rule, Entry: entry, Message: message})
}

// sorted gives the names of the entries in a fixed order.
func (e *examination) sorted() []string { return slices.Sorted(maps.Keys(e.subject.Entries)) }

func (e *examination) has(entry string) bool {
	_, ok := e.subject.Entries[entry]
	return ok
}

func (e *examination) text(entry string) string {
	return strings.TrimSpace(string(e.subject.Entries[entry].Reveal()))
}

// directory looks at the binding's name.
func (e *examination) directory() {
	name := e.subject.Directory
	if name != "" && (!entryName.MatchString(name) || name == "." || name == "..") {
		e.add(Error, RuleName, "", "the name of a binding MUST be 1 to 253 of a-z, 0-9, - and .: rename its directory, or set spec.name")
	}
}

// classify looks at type and provider.
func (e *examination) classify() {
	own := e.text(catalogue.TypeEntry)
	e.kind, e.provider = e.subject.Type, e.subject.Provider
	if e.kind == "" {
		e.kind = own
	}
	if e.provider == "" {
		e.provider = e.text(catalogue.ProviderEntry)
	}
	switch {
	case e.kind == "" && e.subject.Bound:
		e.add(Error, RuleType, catalogue.TypeEntry, "a binding MUST have it: add it to the Secret, or set spec.type of the ServiceBinding")
	case e.kind == "":
		e.add(Warning, RuleType, catalogue.TypeEntry, "a Secret SHOULD have it: without it each ServiceBinding must set spec.type")
	}
	if e.provider == "" {
		e.add(Info, RuleProvider, catalogue.ProviderEntry, "is recommended: it tells programs whose flavour the service is of")
	}
	if e.subject.Secret != nil && own != "" {
		e.secretType(*e.subject.Secret, own)
	}
}

func (e *examination) secretType(is, kind string) {
	switch want := secretTypePrefix + kind; {
	case is == want:
	case strings.HasPrefix(is, secretTypePrefix):
		e.add(Warning, RuleSecretType, catalogue.TypeEntry, "the Secret's own type names another than the entry: make both the same")
	default:
		e.add(Info, RuleSecretType, "", "the Secret's own type SHOULD be "+secretTypePrefix+" and the value of the entry type")
	}
}

// names looks at the names of entries.
func (e *examination) names() {
	size := 0
	for _, name := range e.sorted() {
		size += len(e.subject.Entries[name].Reveal())
		switch {
		case e.subject.Secret != nil && !secretKey.MatchString(name), name == ".", strings.HasPrefix(name, ".."):
			e.add(Error, RuleEntryName, name, "cannot be a file of a volume: use a-z, 0-9, - and . only, with no dot at the beginning")
		case strings.HasPrefix(name, "."):
			e.add(Warning, RuleEntryName, name, "begins with a dot: readers pass over hidden files")
		case !entryName.MatchString(name):
			e.add(Warning, RuleEntryName, name, "SHOULD be 1 to 253 of a-z, 0-9, - and .")
		}
	}
	if e.subject.Secret != nil && size > maxSecret {
		e.add(Error, RuleSize, "", "the entries take more than 1 MiB, which is all that a Secret holds")
	}
}

// values looks at what the entries hold: at the specification's own first, then at those of the type.
func (e *examination) values() {
	all := catalogue.Default()
	kind := all.Type(e.kind)
	for _, name := range e.sorted() {
		value := e.subject.Entries[name].Reveal()
		entry := all.Entry(kind, name)
		if known := all.WellKnownEntry(name); known != nil {
			if err := known.Check(value); err != nil {
				e.add(Error, RuleWellKnown, name, fmt.Sprintf("%v; an entry of this name MUST be: %s. Use another name for other things",
					err, known.Description))
				continue
			}
		}
		if entry == nil {
			continue
		}
		if len(bytes.TrimSpace(value)) == 0 && entry.Rule != catalogue.Binary {
			e.add(Warning, RuleEmpty, name, "is empty: give it a value, or leave it out")
			continue
		}
		if err := entry.Check(value); err != nil {
			e.add(Warning, RuleValue, name, err.Error())
			continue
		}
		e.lineBreak(name, entry, value)
		e.expiry(name, entry, value)
	}
}

// lineBreak looks for what echo leaves at the end of a value.
func (e *examination) lineBreak(name string, entry *catalogue.Entry, value []byte) {
	multiline := []catalogue.Rule{catalogue.Certificates, catalogue.Key, catalogue.Binary}
	if slices.Contains(multiline, entry.Rule) || !bytes.HasSuffix(value, []byte("\n")) {
		return
	}
	message := "ends with a line break, which not every library takes away"
	if name == catalogue.TypeEntry {
		message = "ends with a line break: libraries that compare it byte by byte do not find the binding"
	}
	e.add(Warning, RuleLineBreak, name, message+": write it without (printf instead of echo, stringData: with |-)")
}

// expiry looks at the dates of certificates.
func (e *examination) expiry(name string, entry *catalogue.Entry, value []byte) {
	if entry.Rule != catalogue.Certificates {
		return
	}
	all, err := catalogue.ParseCertificates(value)
	if err != nil {
		return
	}
	for i, certificate := range all {
		switch {
		case e.now.After(certificate.NotAfter):
			e.add(Warning, RuleExpired, name, fmt.Sprintf("certificate %d of %d has expired: renew it", i+1, len(all)))
		case e.now.Before(certificate.NotBefore):
			e.add(Warning, RuleExpired, name, fmt.Sprintf("certificate %d of %d is not valid yet", i+1, len(all)))
		}
	}
}

// variables looks at the entries that become environment variables.
func (e *examination) variables() {
	for _, key := range e.subject.Env {
		overridden := key == catalogue.TypeEntry && e.subject.Type != "" || key == catalogue.ProviderEntry && e.subject.Provider != ""
		if !overridden && !e.has(key) {
			e.add(Error, RuleEnv, key, "spec.env maps it to a variable, but there is no such entry: containers will not start")
		}
	}
}

// Values hides the bytes of entries.
func Values(data map[string][]byte) map[string]node.Value {
	all := make(map[string]node.Value, len(data))
	for name, value := range data {
		all[name] = node.NewValue(value)
	}
	return all
}
