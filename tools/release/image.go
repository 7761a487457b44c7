package main

import "encoding/json"

// image packs the programs for Linux as an OCI image, which container engines load from a
// file: only the static program, run as an unprivileged user. The Containerfile builds the
// same image.
func (r *release) image(systems []system) error {
	var files []entry
	blob := func(data []byte, kind string) map[string]any {
		files = append(files, entry{"blobs/sha256/" + sum(data), 0o644, data})
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": "sha256:" + sum(data), "size": len(data)}
	}
	var all []any
	for _, s := range systems {
		if s.os != "linux" {
			continue
		}
		content := []entry{{"pare", 0o755, s.built}, r.licence()}
		plain, err := r.plainTar("", content)
		if err != nil {
			return err
		}
		packed, err := r.tar("", content)
		if err != nil {
			return err
		}
		at := r.at.Format("2006-01-02T15:04:05Z")
		config := blob(marshal(map[string]any{
			"created": at, "os": s.os, "architecture": s.arch,
			"config": map[string]any{
				"User": "65532:65532", "Entrypoint": []string{"/pare"}, "WorkingDir": "/work", "ExposedPorts": map[string]any{"8811/tcp": map[string]any{}},
				"Labels": map[string]string{"org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "Apache-2.0"},
			},
			"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sum(plain)}},
			"history": []any{map[string]any{"created": at, "created_by": "tools/release"}},
		}), "config.v1+json")
		layer := blob(packed, "layer.v1.tar+gzip")
		manifest := blob(marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []any{layer}}), "manifest.v1+json")
		manifest["platform"] = map[string]string{"os": s.os, "architecture": s.arch}
		all = append(all, manifest)
	}
	if all == nil {
		return nil
	}
	index := blob(marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": all}), "index.v1+json")
	index["annotations"] = map[string]string{"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "pare:" + r.version}
	files = append(files,
		entry{"index.json", 0o644, marshal(map[string]any{"schemaVersion": 2, "manifests": []any{index}})},
		entry{"oci-layout", 0o644, marshal(map[string]string{"imageLayoutVersion": "1.0.0"})},
	)
	packed, err := r.plainTar("", files)
	if err != nil {
		return err
	}
	return r.write("pare_"+r.version+"_image.tar", packed)
}

// marshal is JSON whose members are in order.
func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own values
	}
	return text
}
