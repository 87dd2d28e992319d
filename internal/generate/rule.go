package generate

import (
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/internal/jsonpath"
)

// Bounds of a description.
const (
	// MaxRules is the number of rules that may describe one service.
	MaxRules = 256
	// MaxLength is the number of bytes that the text of one rule may have; constants are bounded by MaxData only.
	MaxLength = 4096
	// MaxData is the number of bytes that the entries of one Secret may have.
	MaxData = 1 << 20
	// MaxEntries is the number of entries that one Secret may have.
	MaxEntries = 4096
	// MaxReferences is the number of Secrets and ConfigMaps that the rules of one service may point to.
	MaxReferences = 128
	// MaxWork is what all paths of one service may cost together, in nodes as jsonpath.MaxVisits counts them.
	MaxWork = 20 * jsonpath.MaxVisits
)

// ObjectType says what the path of a rule leads to.
type ObjectType string

// The object types.
const (
	// ObjectString is a value of the resource itself; the default.
	ObjectString ObjectType = "string"
	// ObjectSecret is the name of a Secret.
	ObjectSecret ObjectType = "Secret"
	// ObjectConfigMap is the name of a ConfigMap.
	ObjectConfigMap ObjectType = "ConfigMap"
)

// ElementType says how many values the path of a rule leads to, and of what kind.
type ElementType string

// The element types.
const (
	// ElementString is one value; the default.
	ElementString ElementType = "string"
	// ElementMap is an object, each of whose fields becomes an entry.
	ElementMap ElementType = "map"
	// ElementSliceOfStrings is a list, each of whose elements becomes an entry.
	ElementSliceOfStrings ElementType = "sliceOfStrings"
	// ElementSliceOfMaps is a list of objects, each of which tells its entry's name and value.
	ElementSliceOfMaps ElementType = "sliceOfMaps"
)

// isSlice says whether the path leads to a list.
func (e ElementType) isSlice() bool { return e == ElementSliceOfStrings || e == ElementSliceOfMaps }

// Level says who wrote a rule. Of two rules for one entry, that of the higher level holds.
type Level int

// The levels, lowest first.
const (
	// LevelVersion is a descriptor of an OLM ClusterServiceVersion.
	LevelVersion Level = iota
	// LevelKnown is what Bowline knows of an operator.
	LevelKnown
	// LevelDefinition is an annotation of the CustomResourceDefinition.
	LevelDefinition
	// LevelResource is an annotation of the resource.
	LevelResource
)

// String names the level for people.
func (l Level) String() string {
	switch l {
	case LevelResource:
		return "annotation"
	case LevelDefinition:
		return "annotation of the CustomResourceDefinition"
	case LevelKnown:
		return "known operator"
	default:
		return "descriptor"
	}
}

// Origin is where a rule was written.
type Origin struct {
	// Level says who wrote it.
	Level Level
	// Object is the name of the resource, the CustomResourceDefinition, the known operator or the ClusterServiceVersion.
	Object string
	// Key is the key of the annotation, or the path of the field within the ClusterServiceVersion.
	Key string
}

// String names the place for people.
func (o Origin) String() string {
	switch o.Level {
	case LevelResource:
		return "annotation " + strconv.Quote(o.Key) + " of " + o.Object
	case LevelDefinition:
		return "annotation " + strconv.Quote(o.Key) + " of CustomResourceDefinition " + strconv.Quote(o.Object)
	case LevelKnown:
		return "annotation " + strconv.Quote(o.Key) + " known for " + strconv.Quote(o.Object)
	default:
		return "ClusterServiceVersion " + strconv.Quote(o.Object) + ", " + o.Key
	}
}

// Rule is one way to get entries.
type Rule struct {
	// Name of the entry, or the beginning of the names of several. The rule without one is about entries as they are.
	Name string
	// Constant is the value itself; nil where there is a path.
	Constant *string
	// Path leads to the value, or to the name of the object that holds it; nil for a constant.
	Path *Template
	// ObjectType says what the path leads to.
	ObjectType ObjectType
	// ElementType says how many of them.
	ElementType ElementType
	// SourceKey is the entry to take of an object; of a slice of maps, the field that gives the entry's name.
	SourceKey string
	// SourceValue is the field that gives the value of each element of a slice.
	SourceValue string
	// Optional passes over what is not there.
	Optional bool
	// Origin is where the rule was written.
	Origin Origin

	// pathAt is where the path begins in the text of the rule; -1 where it stands elsewhere.
	pathAt int
}

// String is the rule in the syntax of annotations, in one normal form: two rules of the same form produce the same. A
// constant is shown as it is.
func (r *Rule) String() string {
	if r.Constant != nil {
		return *r.Constant
	}
	var b strings.Builder
	b.WriteString("path=" + r.Path.String())
	add := func(parameter, value, otherwise string) {
		if value != otherwise {
			b.WriteString("," + parameter + "=" + value)
		}
	}
	add("objectType", string(r.ObjectType), string(ObjectString))
	add("elementType", string(r.ElementType), string(ElementString))
	add("sourceKey", r.SourceKey, "")
	add("sourceValue", r.SourceValue, "")
	add("optional", strconv.FormatBool(r.Optional), "false")
	return b.String()
}

// refers says whether the rule leads to another object.
func (r *Rule) refers() bool { return r.Constant == nil && r.ObjectType != ObjectString }

// join puts the name of a rule before that of an entry.
func join(name, entry string) string {
	if name == "" {
		return entry
	}
	return name + "_" + entry
}
