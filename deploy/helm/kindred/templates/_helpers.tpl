{{- define "kindred.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "kindred.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kindred.labels" -}}
{{ include "kindred.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* The Secret with the URL of the database server; empty with SQLite. */}}
{{- define "kindred.secret" -}}
{{- if .Values.database.existingSecret -}}
{{- .Values.database.existingSecret -}}
{{- else if .Values.database.url -}}
{{- include "kindred.name" . }}-database
{{- end -}}
{{- end }}

{{- define "kindred.scheme" -}}
{{- if or .Values.settings.tls (get .Values.settings "tls.cert") -}}
HTTPS
{{- else -}}
HTTP
{{- end -}}
{{- end }}

{{- define "kindred.pod" -}}
metadata:
  labels:
    {{- include "kindred.labels" . | nindent 4 }}
  annotations:
    checksum/settings: {{ toYaml .Values.settings | sha256sum }}
    checksum/database: {{ .Values.database.url | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 20
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    seccompProfile:
      type: RuntimeDefault
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "kindred.selector" . | nindent 10 }}
  containers:
    - name: kindred
      image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config, /etc/kindred/kindred.yaml]
      {{- if or (include "kindred.secret" .) .Values.extraEnv }}
      env:
        {{- with include "kindred.secret" . }}
        - name: KINDRED_DATABASE
          valueFrom:
            secretKeyRef:
              name: {{ . }}
              key: url
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      ports:
        - name: http
          containerPort: {{ .Values.settings.port | default 8090 | int }}
      {{- if include "kindred.secret" . }}
      # Requests come until every node knows that the pod ends. Then the service stops within 10 seconds.
      lifecycle:
        preStop:
          exec:
            command: [sleep, "5"]
      {{- end }}
      securityContext:
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities:
          drop: [ALL]
      startupProbe:
        httpGet:
          path: /livez
          port: http
          scheme: {{ include "kindred.scheme" . }}
        periodSeconds: 1
        failureThreshold: 60
      livenessProbe:
        httpGet:
          path: /livez
          port: http
          scheme: {{ include "kindred.scheme" . }}
        timeoutSeconds: 5
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
          scheme: {{ include "kindred.scheme" . }}
        periodSeconds: 2
        timeoutSeconds: 5
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: settings
          mountPath: /etc/kindred
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: settings
      secret:
        secretName: {{ include "kindred.name" . }}
    - name: tmp
      emptyDir: {}
    {{- if include "kindred.secret" . }}
    - name: data
      emptyDir: {}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
