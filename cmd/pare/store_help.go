package main

// Help returns the detailed help of the command.
func (c *sessionListCmd) Help() string {
	return `For example:

    pare session list
    pare session list --limit 5
    pare session list --json | jq -r .id`
}

// Help returns the detailed help of the command.
func (c *sessionExportCmd) Help() string {
	return `For example:

    pare session export ID > messages.json
    pare session export --last-turns 3 ID
    pare session export --lines ID | wc -l`
}

// Help returns the detailed help of the command.
func (c *sessionWindowCmd) Help() string {
	return `For example:

    pare session window ID -o request.json
    pare session window --max-tokens 100000 ID | curl -d @- …
    pare session window --base request.json ID`
}

// Help returns the detailed help of the command.
func (c *sessionRevertCmd) Help() string {
	return `For example:

    pare session revert --turns 1 ID              the last question and all that followed
    pare session revert --to 12 ID                everything after entry 12

pare session undo ID reverts the revert.`
}

// Help returns the detailed help of the command.
func (c *sessionUndoCmd) Help() string {
	return `For example:

    pare session compact ID && pare session undo ID`
}

// Help returns the detailed help of the command.
func (c *sessionForkCmd) Help() string {
	return `For example:

    pare session fork ID another
    pare session fork --at 12 ID another          without what follows entry 12`
}

// Help returns the detailed help of the command.
func (c *sessionSearchCmd) Help() string {
	return `For example:

    pare session search discount code
    pare session search 'the exact phrase'
    pare session search --in ID --json discount | jq -r .seq`
}

// Help returns the detailed help of the command.
func (c *sessionDeleteCmd) Help() string {
	return `For example:

    pare session delete ID
    pare session delete --keep messages.json ID
    pare session import --id NEW messages.json    brings its messages back

At a terminal you are asked first. The id stays taken, so that a write which is still on
its way brings nothing back.`
}

// Help returns the detailed help of the command.
func (c *sessionFsckCmd) Help() string {
	return `For example:

    pare session fsck
    pare session fsck --repair`
}

// Help returns the detailed help of the command.
func (c *sessionGcCmd) Help() string {
	return `For example:

    pare session gc --idle 2160h                  sessions that were not used for 90 days
    pare session gc --originals 720h --tombstones 2160h`
}

// Help returns the detailed help of the command.
func (c *sessionBackupCmd) Help() string {
	return `For example:

    pare session backup copy.db
    pare session list --store copy.db`
}
