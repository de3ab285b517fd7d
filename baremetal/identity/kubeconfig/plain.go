/*
Copyright 2026 The Metal3 HostClaim provider authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package kubeconfig

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

const (
	// maxSize is the largest kubeconfig that is looked at, in bytes.
	maxSize = 256 << 10
	// maxValues bounds the values of a kubeconfig, whose memory is a multiple of their
	// bytes. A context with its cluster and user has about twenty.
	maxValues = 16 << 10
	// maxDepth bounds how deep values are nested; those of a kubeconfig are six deep.
	maxDepth = 16
)

// plain returns a YAML text as JSON, and refuses one that expands to more than its own text. The
// parser of client-go copies the text of an anchor for each of its aliases: a file of 260 kB can
// take 16 GiB. It is therefore only ever given this JSON.
func plain(data []byte) ([]byte, error) {
	if len(data) > maxSize {
		return nil, Forbidden("its size", fmt.Sprintf("at most %d bytes are read", maxSize))
	}
	if marks(data) > maxValues {
		return nil, Forbidden("its number of values", fmt.Sprintf("at most %d are read", maxValues))
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, unparsable()
	}
	if len(document.Content) == 0 {
		return []byte("{}"), nil
	}
	if err := makePlain(document.Content[0], 0); err != nil {
		return nil, err
	}
	var value any
	if err := document.Decode(&value); err != nil {
		return nil, unparsable()
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, unparsable()
	}
	return text, nil
}

// unparsable does not wrap the error of a parser, which quotes what it read: that may
// be a credential.
func unparsable() error {
	return invalid("it cannot be parsed", "write one as kubectl config view --raw shows it")
}

// marks counts the characters that can begin a value, so that the number of values is
// bounded before any of them is parsed.
func marks(data []byte) int {
	n := bytes.Count(data, []byte("- ")) + bytes.Count(data, []byte("-\t"))
	for _, mark := range []byte("\r\n,:[{?&*!") {
		n += bytes.Count(data, []byte{mark})
	}
	return n
}

// makePlain refuses a node that expands to more than its own text, and has keys and dates read as
// text.
func makePlain(node *yaml.Node, depth int) error {
	switch {
	case node.Kind == yaml.AliasNode, node.Anchor != "", node.Style&yaml.TaggedStyle != 0, node.Tag == "!!merge":
		return Forbidden("an anchor, alias, tag or merge key of YAML", "write every value out")
	case depth > maxDepth:
		return Forbidden("its nesting", fmt.Sprintf("values are read %d deep", maxDepth))
	case node.Tag == "!!timestamp":
		node.Tag = "!!str"
	}
	for i, child := range node.Content {
		if err := makePlain(child, depth+1); err != nil {
			return err
		}
		if key := node.Kind == yaml.MappingNode && i%2 == 0; key && child.Kind == yaml.ScalarNode {
			child.Tag = "!!str"
		}
	}
	return nil
}
