{{/* More arguments of the program, unless the chart sets them itself or cannot do with them.
That is said here and not in the schema, which cannot say why. */}}
{{- define "kron-operator.extraArgs" -}}
{{- $instead := dict
  "--namespace" "set watchNamespace instead"
  "--lease-name" "it is the name of everything, so set fullnameOverride instead"
  "--lease-namespace" "the lease is in the namespace of the release, so install it in another"
  "--leader-elect" "replicas, and pods that follow each other, have to agree on which of them works"
  "--identity" "each pod goes by its own name, so that no two are the same"
  "--max-dispatch-lag" "set maxDispatchLag instead"
  "--concurrency" "set concurrency instead"
  "--log-format" "set log.format instead"
  "--log-level" "set log.level instead"
}}
{{- range $place, $argument := .Values.extraArgs }}
{{- $flag := regexFind "^--[^=\\s]+" $argument }}
{{- $why := get $instead $flag }}
{{- if not (or $why (eq $flag "--listen")) }}
{{- $why = "`kron-operator run` has no such argument that could be added; there is `--listen=ADDRESS:8080`" }}
{{- else if and (not $why) (not (regexMatch "^--listen=.+:8080$" $argument)) }}
{{- $why = "probes and the Service need port 8080, as in `--listen=[::]:8080`; the port of the Service is metrics.service.port" }}
{{- end }}
{{- if $why }}
{{- $why = printf "extraArgs[%d]: `%s` is refused: %s" $place $argument $why }}
{{- fail $why }}
{{- /* `helm lint` only mentions that; what it cannot read, it refuses. */}}
{{- $why }}
{{- end }}
{{- end }}
{{- toYaml .Values.extraArgs }}
{{- end }}
