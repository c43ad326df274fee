/** Spellings of one flag: its long name and its letters. */
export type FlagAliases = readonly (readonly [long: string, letters: readonly string[]])[]

/**
 * Returns the flags of a command that mean the same. A flag that includes another counts as that flag too: `cp -a` is
 * also recursive.
 */
export function flagAliases(name: string, subcommand: string): FlagAliases {
  const key = Object.hasOwn(ALIASES, `${name} ${subcommand}`) ? `${name} ${subcommand}` : name
  return Object.hasOwn(ALIASES, key) ? read(ALIASES[key] ?? '') : []
}

const cache = new Map<string, FlagAliases>()

function read(text: string): FlagAliases {
  const known = cache.get(text)
  if (known) return known
  const aliases = text.split(' ').map((entry): [string, string[]] => {
    const [long = '', letters = ''] = entry.split('=')
    return [`--${long}`, [...letters].map((letter) => `-${letter}`)]
  })
  cache.set(text, aliases)
  return aliases
}

const RECURSIVE_UPPER = 'recursive=R verbose=v changes=c silent=f quiet=f'

const ALIASES: Readonly<Record<string, string>> = {
  rm: 'recursive=rR force=f dir=d verbose=v interactive=i',
  cp: 'recursive=rRa archive=a force=f no-clobber=n interactive=i update=u verbose=v link=l symbolic-link=s',
  mv: 'force=f no-clobber=n interactive=i update=u verbose=v',
  ln: 'force=f symbolic=s no-dereference=n verbose=v',
  chmod: RECURSIVE_UPPER,
  chown: RECURSIVE_UPPER,
  chgrp: RECURSIVE_UPPER,
  mkdir: 'parents=p mode=m verbose=v',
  rmdir: 'parents=p verbose=v',
  ls: 'all=a almost-all=A recursive=R',
  grep: 'recursive=rR ignore-case=i line-number=n',
  sed: 'in-place=i quiet=n silent=n expression=e file=f',
  sort: 'output=o',
  tar: 'extract=x get=x create=c file=f directory=C absolute-names=P use-compress-program=I',
  curl: 'output=o remote-name=O data=d upload-file=T insecure=k config=K request=X header=H form=F',
  wget: 'output-document=O recursive=r execute=e input-file=i',
  npm: 'global=g save-dev=D force=f workspace=w',
  'git push': 'force=f delete=d tags= set-upstream=u no-verify= mirror=',
  'git branch': 'delete=dD force=fDM move=mM copy=cC',
  'git checkout': 'force=f',
  'git switch': 'force=f discard-changes=f',
  'git clean': 'force=f dry-run=n',
  'git commit': 'all=a message=m no-verify=n amend=',
  'git add': 'all=A force=f',
  'git rm': 'force=f cached=',
  'git tag': 'delete=d force=f',
  'git fetch': 'force=f prune=p',
  'git reset': 'hard=',
  'docker rm': 'force=f volumes=v',
  'docker rmi': 'force=f',
  'docker run': 'privileged= volume=v env=e',
  'kubectl delete': 'force= all= filename=f',
}
