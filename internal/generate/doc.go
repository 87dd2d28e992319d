// Package generate makes binding Secrets for services that are described rather than provisioned: by annotations of the
// resource or of its CustomResourceDefinition, by what is known of popular operators, or by the descriptors of an OLM
// ClusterServiceVersion (early draft of the specification, section Binding Secret Generation Strategies).
//
// It promises one answer for one input, in bounds that hold for any input, and the whole truth about a bad description:
// each error names the resource, the annotation or descriptor and the position, and all of them are told at once. It reads
// nothing and writes nothing: what a description points to is handed in, and what is made is handed out. It refuses to
// make half a Secret, to look into another namespace, and to put a value of a Secret into an error.
//
// A rule is written as the value of an annotation whose key is service.binding/<name>, or service.binding for a rule
// without a name:
//
//	service.binding/username: path={.status.data.dbCredentials},objectType=Secret,sourceKey=user
//	service.binding/type:     postgresql
//
// The path is a template of kubectl's JSONPath. A value without path= is a constant.
//
// What is produced, where <name> and its underscore are left out for a rule without a name:
//
//	constant                                       <name>
//	field of the resource                          <name>
//	elementType=map                                <name>_<key>, of an object in the resource
//	elementType=sliceOfMaps                        <name>_<sourceKey of the element>, with the element's sourceValue
//	elementType=sliceOfStrings                     <name>_0, <name>_1 …, with sourceValue that field of each element
//	objectType=Secret or ConfigMap                 every entry as it is; <name>_<entry> with a name
//	… with sourceKey                               <name>, the one entry (its own name without a name)
//	… and elementType=sliceOfStrings               <name>_0_<entry> …, or <name>_0 … with sourceKey
//	… and elementType=sliceOfMaps                  <name>_<sourceKey>_<entry>, where sourceValue names an object; or
//	                                               <name>_<sourceKey>, where sourceValue is {name: …, key: …}
//
// Where the path of a Secret or ConfigMap leads to an object {name: …, key: …} rather than to a name, that is the object, and
// key the entry to take.
//
// A field, the elements of a slice of strings and constants need a name; without one, the last field of the path is taken.
// What a path does not find is an error unless the rule says optional=true, which passes over a missing object and a
// missing entry of it, too.
package generate
