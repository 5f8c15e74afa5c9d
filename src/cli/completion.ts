/** Scripts by which shells complete commands, options and types. */
import type { Option } from 'commander';
import { Argument, Command } from 'commander';
import type { Io } from './io.ts';
import { write } from './io.ts';

type Shell = 'bash' | 'zsh' | 'fish' | 'powershell';

/** What may follow one command. */
interface Place {
  /** `get`, `token create`; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly string[];
  readonly options: readonly string[];
  /** Those of the options that a value follows. */
  readonly withValue: ReadonlySet<string>;
  readonly takesType: boolean;
}

const hints: Readonly<Record<Shell, string>> = {
  bash: 'source <(kindred completion bash)',
  zsh: 'source <(kindred completion zsh)',
  fish: 'kindred completion fish | source',
  powershell: 'kindred completion powershell | Out-String | Invoke-Expression',
};

export function completionCommand(io: Io): Command {
  const known = Object.keys(hints) as Shell[];
  const command = new Command('completion')
    .description('print a script by which a shell completes what you type')
    .addArgument(new Argument('<shell>', 'the shell').choices(known))
    .addHelpText(
      'after',
      `\nIn the file that the shell reads at its start:\n${known.map((shell) => `  ${shell}: ${hints[shell]}\n`).join('')}`,
    )
    .action((shell: Shell) => {
      const text = scripts[shell](placesIn(command.parent!));
      return write(io.stdout, `# ${hints[shell]}\n${text}`);
    });
  return command;
}

function placesIn(program: Command, path = ''): Place[] {
  const { commands, options, registeredArguments } = program;
  const shown = options.filter(({ hidden }) => !hidden);
  const own: Place = {
    path,
    commands: commands.map((one) => one.name()),
    options: [...shown.flatMap(spellings), '--help'],
    withValue: new Set(shown.filter(({ required }) => required).flatMap(spellings)),
    takesType: registeredArguments.some((argument) => ['what', 'type'].includes(argument.name())),
  };
  return [own, ...commands.flatMap((one) => placesIn(one, `${path} ${one.name()}`.trim()))];
}

function spellings({ short, long }: Option): string[] {
  return [short, long].filter((one) => one !== undefined);
}

const types = 'kindred api-resources -o name';
/** Options that a path follows, whatever the command. */
const fileOptions = [
  '-f',
  '--filename',
  '--patch-file',
  '--config',
  '--plugin',
  '--plugins',
  '--ca',
  '--tls-cert',
  '--tls-key',
];

const scripts: Readonly<Record<Shell, (places: readonly Place[]) => string>> = {
  bash: (places) => `_kindred() {
  local cur=\${COMP_WORDS[COMP_CWORD]} place= word i
  COMPREPLY=()
  case "\${COMP_WORDS[COMP_CWORD - 1]}" in
    ${fileOptions.join('|')}) return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "\${place:+$place }$word" in
      ${paths(places, '|')}) place="\${place:+$place }$word" ;;
    esac
  done
  local words= types=
  case "$place" in
${places.map(({ path, commands, options, takesType }) => `    "${path}") words="${[...commands, ...options].join(' ')}"${takesType ? ' types=1' : ''} ;;`).join('\n')}
  esac
  if [[ -n $types && $cur != -* ]]; then
    words=$(${types} 2>/dev/null)
  fi
  # Names of types come from a server: nothing in them is expanded.
  while IFS= read -r word; do
    [[ $word == "$cur"* && $word =~ ^[A-Za-z0-9./=-]+$ ]] && COMPREPLY+=("$word")
  done < <(printf '%s\\n' "$words" | tr ' ' '\\n')
}
complete -o default -F _kindred kindred
`,
  zsh: (places) => `_kindred() {
  local place= word found= types=
  if [[ $words[CURRENT-1] == (${fileOptions.join('|')}) ]]; then
    _files
    return
  fi
  for word in \${words[2,CURRENT-1]}; do
    case "\${place:+$place }$word" in
      (${paths(places, '|')}) place="\${place:+$place }$word" ;;
    esac
  done
  case "$place" in
${places.map(({ path, commands, options, takesType }) => `    ("${path}") found="${[...commands, ...options].join(' ')}"${takesType ? ' types=1' : ''} ;;`).join('\n')}
  esac
  if [[ -n $types && $PREFIX != -* ]]; then
    compadd -- \${(f)"$(${types} 2>/dev/null)"}
  elif [[ -n $place && $PREFIX != -* ]]; then
    compadd -- \${=found}
    _files
  else
    compadd -- \${=found}
  fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _kindred kindred
`,
  fish: (places) => `function __kindred_place
    set -l place
    for word in (commandline -opc)[2..-1]
        set -l next (string trim -- "$place $word")
        switch $next
            case ${paths(places, ' ')}
                set place $next
        end
    end
    test "$place" = "$argv[1]"
end
${places
  .map(({ path, commands, options, takesType, withValue }) => {
    const at = `complete -c kindred -n '__kindred_place "${path}"'`;
    const lines = [
      ...(commands.length > 0 ? [`${at} -f -a '${commands.join(' ')}'`] : []),
      ...(takesType ? [`${at} -f -a '(${types} 2>/dev/null)'`] : []),
      ...options.map((one) => {
        const value = fileOptions.includes(one) ? ' -r -F' : withValue.has(one) ? ' -x' : '';
        return `${at} ${one.startsWith('--') ? `-l ${one.slice(2)}` : `-s ${one.slice(1)}`}${value}`;
      }),
    ];
    return lines.join('\n');
  })
  .join('\n')}
`,
  powershell: (places) => `Register-ArgumentCompleter -Native -CommandName kindred -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @{
${places.map(({ path, commands, options }) => `    '${path}' = '${[...commands, ...options].join(' ')}'`).join('\n')}
  }
  $types = @(${places
    .filter(({ takesType }) => takesType)
    .map(({ path }) => `'${path}'`)
    .join(', ')})
  $place = ''
  foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
    if ($element.Extent.EndOffset -ge $cursorPosition) { break }
    $next = "$place $element".Trim()
    if ($words.ContainsKey($next)) { $place = $next }
  }
  if ($types -contains $place -and -not $wordToComplete.StartsWith('-')) {
    $found = @(${types} 2>$null)
  } else {
    $found = $words[$place].Split(' ')
  }
  $found | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`,
};

/** Of all commands, as patterns. */
function paths(places: readonly Place[], between: string): string {
  return places
    .filter(({ path }) => path !== '')
    .map(({ path }) => `"${path}"`)
    .join(between);
}
