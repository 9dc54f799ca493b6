"""What each code means and what to do about it: the text of ``docs/errors/``, one entry a code.

A fix names the command to run on a line of its own, indented by two blanks.
"""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "Adopted": (
        "A machine or disk that no record had was taken into the record named, by the person named. What a machine "
        "cost before stands on the "
        "receipt of the Attempt it was made by.",
        "Nothing needs to be done. See what it is now:\n  nodusctl describe KIND/NAME",
    ),
    "AlreadyExists": (
        "An object of this name is there, with another spec or under another uid; or a file that image build was to write. Nothing was "
        "changed.",
        "Look at the one that is there, then change it or choose another name:\n  nodusctl get KIND/NAME -o yaml",
    ),
    "BadRequest": (
        "A request to the API could not be read at all: broken JSON, a missing body, a malformed query.",
        "Compare the request with the schema of the kind:\n  nodusctl schema KIND",
    ),
    "BaseMoved": (
        "The branch lacks work that was merged to its base meanwhile and is in the state already, so the plan would undo it: object and "
        "commit are named, and the Action is left out. Or, at apply (exit code 11), base has changed an object of a reviewed plan.",
        "Rebase the branch, then plan again:\n  git rebase origin/main\n  nodusctl plan --base origin/main -o FILE\n"
        "Where that work is meant to be undone:\n  nodusctl plan --base origin/main --accept-base-moved",
    ),
    "BaseUnknown": (
        "Nobody can say what the base branch has: git is not there, the project lies in no repository, the branch is not known here, or "
        "the clone is too shallow to know where this branch left it. A plan with --base is not made then; a reviewed one is applied, with "
        "a note.",
        "Fetch the branch with its history, or plan without --base:\n  git fetch --unshallow origin\n  nodusctl plan --base origin/main",
    ),
    "BudgetExceeded": (
        "A Budget with action Block has less left than the first hold of a start needs. What runs goes on; nothing new is started.",
        "See what was spent and what is held, then raise limitUSD, stop something, or ask for a smaller machine:\n"
        "  nodusctl get budgets\n"
        "  nodusctl cost --by object",
    ),
    "Bug": (
        "Something happened that nodusctl does not expect of itself (exit code 70). The state is saved after every step, "
        "so nothing is lost; the crash report lies in your state folder and holds no secret value.",
        "Run the same command again: whatever was in flight is settled first. If it fails again, report it with the crash report.",
    ),
    "CapOverrun": (
        "A machine ended later than its deadline said, so the session cost more than its cap by the amount named. The receipt shows both.",
        "Read the receipt, and see whether the provider ends machines late:\n  nodusctl receipts KIND/NAME\n  nodusctl doctor",
    ),
    "CapTooSmall": (
        "maxCostUSD does not cover one start: boot, the minimum charge and the stop already cost more. A cap that can't "
        "hold is refused instead of being broken later.",
        "Raise maxCostUSD to at least the amount in the message, or choose a cheaper offer:\n  nodusctl offers",
    ),
    "CapacityUnavailable": (
        "No machine fits, or none is to be had. When nothing fits, the message is a funnel: how many offers each "
        "constraint left, and the smallest change that would leave one.",
        "Loosen the constraint at which the funnel reaches 0, and look at what is on offer:\n  nodusctl offers --gpu TYPE",
    ),
    "ClockWrong": (
        "This computer's clock is behind something that has already happened. Charges, deadlines and the age of locks would be wrong.",
        "Set the clock from the network, as root:\n  timedatectl set-ntp true",
    ),
    "ColdStart": (
        "No warm machine waits, so the first use comes after a boot of about the time named. This is information, not a fault.",
        "Nothing needs to be done. A schedule has the machine ready beforehand (spec.schedule).",
    ),
    "CommentsAlike": (
        "More than one comment of the pull request bears the mark of this project and tag, by the same author. The oldest was replaced.",
        "Delete the others on the forge, so that nobody reviews an old plan. Two comments on purpose need two tags:\n"
        "  nodusctl comment post --tag TEXT",
    ),
    "Conflict": (
        "The object or the state changed between the moment it was read and the moment it was to be changed. Nothing was changed.",
        "Look at what changed, then repeat:\n  nodusctl state history\n  nodusctl plan",
    ),
    "CronRefused": (
        "crontab, or systemd, is there and would not do what was asked: only some users may use it, or no session of yours is running. "
        "What it said itself stands in the message.",
        "Where only some users may have a crontab, have root add yours to /etc/cron.allow, then repeat:\n  nodusctl cron install",
    ),
    "CronStopped": (
        "What would make the ticks is installed but doesn't run: no cron daemon was seen on this computer, or a timer of yours ends when "
        "you log out.",
        "Start the daemon, as root, or let your timers outlive your login:\n  service cron start\n  loginctl enable-linger",
    ),
    "DeclaredDead": (
        "The owner said that a machine is dead where nothing could prove it (recover --machine-is-dead). It is "
        "released as far as its provider "
        "answers, and its session recovered.",
        "If it turns out to live, drift shows it as Duplicate and orphans with its price:\n  nodusctl drift\n  nodusctl orphans",
    ),
    "DefaultWorld": (
        "The simulated provider has no world file and uses its built-in world.",
        "Write the world down to change it:\n  nodusctl sim init",
    ),
    "DeviceBusy": (
        "Every accelerator that fits is taken, by another object of the state, of this plan, or by a program outside. "
        "The message names the holder.",
        "Stop the holder, or ask for fewer or other cards:\n  nodusctl stop NAME",
    ),
    "DeviceGroupNotViable": (
        "The accelerator shares its IOMMU group with a device that the host still uses, so it can't be handed to a machine by itself.",
        "Free every device of the group on the host; doctor names them:\n  nodusctl doctor PROVIDER",
    ),
    "DiskFull": (
        "The folder of the state or of your keys has almost no room left. Steps that can't be written down are not "
        "taken, so nothing would start.",
        "Find what takes the room and free some:\n  du -xh FOLDER | sort -h | tail",
    ),
    "DiskScarce": (
        "The folder of the state or of your keys has less than 2 GiB left.",
        "Find what takes the room and free some:\n  du -xh FOLDER | sort -h | tail",
    ),
    "Duplicate": (
        "Something that may stand once is there twice. In files: a key of a mapping, an object of the same kind and "
        "name, an entry of a list. "
        "Outside: a second living machine of one Attempt; the ready one is kept, else the older, and the other is released with a receipt.",
        "In files, keep one of the two (the message gives both places) and check again:\n  nodusctl validate\n"
        "Outside, the next pass releases it:\n  nodusctl tick",
    ),
    "Expired": (
        "What was asked for is no longer kept, such as the next page of an old listing.",
        "Start the listing again from its beginning.",
    ),
    "FaultsScripted": (
        "The simulated world still has scripted faults, so what you see may be one of them.",
        "List them, and clear them when you are done:\n  nodusctl sim fault list\n  nodusctl sim fault clear",
    ),
    "FieldImmutable": (
        "A field that never changes for the life of an object was changed. The message gives the old value.",
        "Write the old value again, or make a new object under another name. Which fields change when:\n  nodusctl explain KIND.spec.FIELD",
    ),
    "FieldValueRequired": (
        "A required field is missing. The place is the mapping that lacks it.",
        "Add the field; explain says what it takes:\n  nodusctl explain KIND.spec.FIELD",
    ),
    "FilesBehind": (
        "An object was renamed in the state while its file still has the old name. A plan would now remove the one and make the other.",
        "Write the new name into the file, then check that nothing is left to do:\n  nodusctl plan",
    ),
    "Forbidden": (
        "This may not be written or done here: a field that only the program writes, an annotation outside the closed "
        "list, a reserved name.",
        "Remove it. What may be written:\n  nodusctl explain KIND.spec",
    ),
    "ForeignState": (
        "The machine or disk carries the mark of another state, or a pulled state is another one than that which is "
        "here. Two states must never steer one machine, so a plan that would make an object of this project and name "
        "stops, and orphans deletes or adopts such a thing only where its state is named.",
        "Work in the project it belongs to; its lineage stands in the message. If that state is lost, see what it left:\n"
        "  nodusctl orphans",
    ),
    "ForgeBusy": (
        "GitHub or GitLab asks for fewer requests, and for a longer pause than nodusctl waits (two minutes in all). Nothing was posted.",
        "Run it again after the time in the message:\n  nodusctl comment post",
    ),
    "ForgeRefused": (
        "GitHub or GitLab answered, and not with success: it knows no such repository or pull request, or doesn't show it to this token, "
        "or found something in the request. The message has its own words.",
        "Name the repository and the number yourself, and look whether the token may read that repository:\n"
        "  nodusctl comment post --repo OWNER/NAME --number N",
    ),
    "ForgeUnauthorized": (
        "GitHub or GitLab refused the token: it has expired, belongs to another server, or may not write comments. In GitLab a job's own "
        "token (CI_JOB_TOKEN) never may.",
        "In GitHub Actions, give the job `permissions: {pull-requests: write}` and the command GITHUB_TOKEN. In GitLab, store a project "
        "access token with the scope api as the variable GITLAB_TOKEN.",
    ),
    "ForgeUnreachable": (
        "GitHub or GitLab could not be reached, or went on failing. A comment whose answer was lost is looked for before it is sent again, "
        "so there are never two.",
        "Run it again; another server than the public one is named by the forge's CI or by an option:\n"
        "  nodusctl comment post --api-url https://github.example.com/api/v3",
    ),
    "Forgotten": (
        "The record was removed and its provider was not asked for anything (forget). What it left there is listed; "
        "the last charge is estimated.",
        "End it, or take it up again:\n  nodusctl orphans\n  nodusctl adopt ID",
    ),
    "FreeCapacity": (
        "Your own hardware has no hourly rate, so its time counts as $0.00 in estimates, caps and receipts.",
        'Give it a rate in nodusctl.yaml if its time should count:\n  providers: {here: {type: local, rateUSDPerHour: "0.12"}}',
    ),
    "FunctionCallBatchTooLarge": (
        "One batch holds more calls than are accepted at once.",
        "Split the batch.",
    ),
    "FunctionNotFound": (
        "The Function that is called does not exist in this project.",
        "See which there are:\n  nodusctl get functions",
    ),
    "Granted": (
        "A prepaid owner was given credits. The ledger has a posting with the amount, who gave them and why.",
        "Nothing has to be done. See what each owner has:\n  nodusctl credits show",
    ),
    "HomeFreed": (
        "The machine that held this home is gone, so the home is free. Its disk may hold more than its last revision.",
        "Nothing needs to be done; the next start uses the disk as it is:\n  nodusctl home list WORKSPACE",
    ),
    "IdempotencyKeyReused": (
        "The same idempotency key came with another request. It is kept so that a repeated request can't act twice.",
        "Use a new key for a new request.",
    ),
    "ImageNotBuilt": (
        "A step of image build failed: the program and the last lines it said are named. Nothing is left of it.",
        "Where a package could not be fetched, repeat it or take another mirror; where its name is wrong, correct it:\n"
        "  nodusctl image build NAME --output PATH --mirror URL",
    ),
    "ImageNotFound": (
        "The image's name or tag does not exist where it was looked for. On hosts of your own: there is no file, or its SHA-256 isn't the "
        "one in the settings (both are named).",
        "Check spec.image or spec.imageRef; on hosts of your own, images: in the provider's settings:\n  nodusctl image list",
    ),
    "ImageNotReady": (
        "The image is still being built or fetched.",
        "Wait, then repeat; describe shows how far it is:\n  nodusctl describe KIND/NAME",
    ),
    "ImagePullFailed": (
        "The registry has the image but would not give it out.",
        "Check the Secret of type Registry that imagePullSecrets names:\n  nodusctl get secrets",
    ),
    "InsufficientCredits": (
        "The balance of granted credits does not cover the first hold. A state that was never granted anything is "
        "post-paid and never says this.",
        "Grant more, stop something that holds money, or ask for a smaller machine:\n  nodusctl cost",
    ),
    "IntentUnsettled": (
        "A step was begun and no answer came, so it is not known whether it happened: the reply was lost, or the program "
        "was killed. The object is left alone until the provider can say; other objects are not held up.",
        "The next apply asks the provider and settles it:\n  nodusctl apply\nIf the provider does not answer:\n  nodusctl doctor PROVIDER",
    ),
    "InternalError": (
        "The server failed in a way it does not expect of itself.",
        "Report it with the request id from the answer.",
    ),
    "InterruptibleSelected": (
        "The offer can be taken away by its provider at any time. It is cheaper for that; holds and limits are counted at its ceiling.",
        "Save what matters under the home Volume, or ask for placement: {interruptible: Never}.",
    ),
    "Invalid": (
        "A value breaks a rule of its field, or fields contradict each other. The place, the field and the rule stand in "
        "the message; all faults of all files are told at once.",
        "Correct the field, then check again:\n  nodusctl explain KIND.spec.FIELD\n  nodusctl validate",
    ),
    "KeyStillKnown": (
        "A member was taken out, and the state's key is still the one they could read. Whoever has kept it opens "
        "every copy of the state made before the next rotation.",
        "Make a new key for those who are members now:\n  nodusctl state keys rotate",
    ),
    "LedgerUnsound": (
        "Entries of the ledger contradict each other. Nothing in nodusctl can write that, so a file was damaged or edited by hand.",
        "Keep a copy of the state file before anything else, then report it with the output of:\n  nodusctl receipts --json",
    ),
    "LockBroken": (
        "A lock belonged to a process of this computer that no longer runs, so the next command took it over. The journal keeps that.",
        "Nothing needs to be done.",
    ),
    "LockRemoved": (
        "Somebody removed a lock by hand. The journal keeps who and when.",
        "Nothing needs to be done.",
    ),
    "Locked": (
        "Another command compares or starts a plan at this moment (exit code 13). Locks are held for milliseconds; one "
        "that stays belongs to a process that hangs or to another computer.",
        "Wait for it, or if its holder is really gone, remove it by the id in the message:\n"
        "  nodusctl apply --lock-timeout 30s\n"
        "  nodusctl unlock ID",
    ),
    "MemberUnknown": (
        "The list of members holds somebody whom nobody with the state's key has let in: the row was written past "
        "nodusctl, or for an older key. No key is ever wrapped for them.",
        "Ask who that is, then take them out:\n  nodusctl state keys remove NAME",
    ),
    "MethodNotAllowed": (
        "The object does not know that method.",
        "See which operations the kind has in the API description.",
    ),
    "NoHardEdge": (
        "Nothing on the machine itself would end it at its deadline, so a cap or a lease would depend on a program elsewhere being awake.",
        "Choose a provider that arms deadlines on the machine, or remove the limit that needs one.",
    ),
    "NoSSHKey": (
        "spec.sshKeys names an SSHKey that is in no file and not in the state. Your own key, cli, always exists.",
        "Add the SSHKey, or take its name out:\n  nodusctl get sshkeys",
    ),
    "NoTicker": (
        "An object needs somebody to look after it (a window ahead, a start or stop that isn't finished, a lease that is to be renewed), "
        "and the last good tick is older than three intervals. Machines still end themselves in time; nothing else happens by itself.",
        "Let cron tick at intervals, or see how its last ticks went:\n  nodusctl cron install\n  nodusctl cron show",
    ),
    "NodeUnreachable": (
        "The machine runs according to its provider but does not answer. It is neither trusted nor given up: its home "
        "stays held until its end is proved.",
        "See what was tried and when:\n  nodusctl describe workspace/NAME",
    ),
    "NotFormatted": (
        "fmt left the file as it was, because after formatting a comment or a value would not have been the same.",
        "Move comments out of flow mappings onto lines of their own, then format again:\n  nodusctl fmt FILE",
    ),
    "NotFound": (
        "A named object, provider, file or command does not exist. The nearest name is given where there is one.",
        "List what there is:\n  nodusctl get ws,vol,sec",
    ),
    "NotSupported": (
        "A value is not one of those allowed, or a name is not known where it stands. Those allowed are listed in the message.",
        "Choose one of those listed:\n  nodusctl explain KIND.spec.FIELD",
    ),
    "NotWritable": (
        "A folder that nodusctl writes to can't be written by this user: the state's, or the one with your keys.",
        "Give yourself the right, or name another folder:\n  chmod u+rwx FOLDER",
    ),
    "NothingLeft": (
        "apply --resume found that all of the plan is done.",
        "Nothing needs to be done.",
    ),
    "NoticeUnsent": (
        "The command under notify in nodusctl.yaml did not take a notice: it could not be run, ended with an error, or took longer than "
        "ten seconds. The tick itself is not affected.",
        "Run the command by hand with a line of JSON on its stdin. The next tick offers what still stands again:\n  nodusctl tick",
    ),
    "OpenToOthers": (
        "A file with a key or with the state can be read by other users of this computer.",
        "Close it:\n  chmod 600 FILE",
    ),
    "OutputLost": (
        "A file or stream that words were to be written to took no more, such as on a full disk. What the command did is done and stored; "
        "only what it had to say is incomplete.",
        "Make room, then see what holds now:\n  nodusctl get ws,vol",
    ),
    "PlanStale": (
        "The saved plan can still be looked at, but not applied: the state moved on, it was applied already, or it "
        "belongs to another state.",
        "Make a new one:\n  nodusctl plan -o FILE",
    ),
    "PlanUncompared": (
        "A saved plan is shown, and the state it was made for can't be read here, so nobody can say whether it could still be applied.",
        "Look at it all the same; to know more, find out why the state can't be read:\n  nodusctl doctor",
    ),
    "PlanUnreadable": (
        "The plan file is damaged, was changed after it was written, or comes from a newer nodusctl (exit code 11).",
        "Make it again:\n  nodusctl plan -o FILE",
    ),
    "PlannedOffline": (
        "The plan was made from a snapshot of the state, where neither the state nor a provider could be reached. It is a whole plan, "
        "with the hash that the state itself would have given at that moment.",
        "Have it reviewed, then apply it by its hash where the state is:\n  nodusctl apply --plan-hash H",
    ),
    "PluginBuiltIn": (
        "A wheel for a platform was asked for, and this provider ships with nodusctl: it is locked by the version of nodusctl.",
        "Nothing needs to be done.",
    ),
    "PluginCrashed": (
        "A provider plugin raised an error instead of answering. Its answer counts as one nobody got: objects of that provider wait or are "
        "blocked, nothing else is. The report named holds the traceback, without secrets.",
        "See whether the provider works at all, and send the report to the plugin's author:\n  nodusctl doctor",
    ),
    "PluginDiffers": (
        "A provider plugin is not the one that .nodus.lock.yaml has: another version, other files, files nobody installed, or a module "
        "that would come from elsewhere. It was not imported, and the command ended before it did anything. The lock is never changed by "
        "this.",
        "Install what was locked. If the change is meant, lock it on purpose and commit the file:\n  nodusctl providers lock",
    ),
    "PluginEditable": (
        "A plugin is run from its sources (an editable install), so there are no installed files to hash. Only its version is locked.",
        "For a lock that means something, install the plugin, then lock again:\n  nodusctl providers lock",
    ),
    "PluginLockUnreadable": (
        ".nodus.lock.yaml is there and can't be read, so nobody can say which plugins are meant. Nothing goes on without that.",
        "Bring the file back from version control:\n  git checkout -- .nodus.lock.yaml",
    ),
    "PluginUnlocked": (
        "The project has a provider lock, and uses a provider that is not in it. It was not imported.",
        "Lock it, and commit the file:\n  nodusctl providers lock",
    ),
    "PolicyFailed": (
        "The plan breaks a rule of the project's own policy: maxMonthlyUSD, maxIncreaseUSD, allowedRegions, allowedGPUTypes, "
        "interruptibleRequired, windowsRequired, or the program under policy.command. The rule stands beside the code. Alone it ends with "
        "exit code 15.",
        "Plan something else, or have the rule under policy in nodusctl.yaml changed:\n  nodusctl schema project",
    ),
    "PoolInUse": (
        "An object still names the Pool in placement.pool.",
        "Take the name out of those objects first; the message lists them.",
    ),
    "PreconditionFailed": (
        "The object is not in the version the request expects.",
        "Read it again and repeat.",
    ),
    "PriceMoved": (
        "The price rose above what was reviewed: more than 10 % over the rate in the plan (exit code 12). Nothing was "
        "started. As a note it means a smaller rise, inside the reviewed ceiling.",
        "Plan again and have the new price reviewed:\n  nodusctl plan -o FILE",
    ),
    "PriceOld": (
        "The price is older than it counts as current. It is used all the same and marked, because an old price is better than none.",
        "See its age and source:\n  nodusctl prices show --gpu TYPE",
    ),
    "PriceStale": (
        "The price is older than policy.maxPriceAge allows.",
        "Add a newer price under prices.files in nodusctl.yaml, or raise maxPriceAge:\n  nodusctl prices show",
    ),
    "PriceUnknown": (
        "No price is known for the offer, so what it would cost can't be said. Unknown is never counted as $0.00; totals "
        "then say at least. At apply of a saved plan (exit code 12): a price it was reviewed with is not known any more.",
        "Choose one of the priced offers named, or add the price under prices.files in nodusctl.yaml:\n  nodusctl offers",
    ),
    "ProgramMissing": (
        "A program that nodusctl calls is not on PATH. The message says which, and which package brings it.",
        "Install it, as root:\n  apt-get install openssh-client",
    ),
    "Protected": (
        "The object carries the annotation nodus.dev/protected, so no plan removes it.",
        "If it may really go, remove the annotation first and apply that.",
    ),
    "ProviderIdentityChanged": (
        "The provider's settings now lead to another account or another host than the one its machines were made on. "
        "Steps there would meet strangers' machines, so none is taken.",
        "Restore the settings, or remove what lives there first:\n  nodusctl providers list",
    ),
    "ProviderInUse": (
        "The provider was taken out of nodusctl.yaml, or its settings lead to another account now, while objects of "
        "the state still live there.",
        "Put its settings back, remove what lives there, then change them:\n  nodusctl get ws,vol -o wide\n"
        "Or leave it behind, billed and without a record:\n  nodusctl forget KIND/NAME",
    ),
    "ProviderNotReady": (
        "The provider can't be used now: a program or a Python package is missing, its settings are wrong, or its "
        "platform does not answer. Objects elsewhere go on.",
        "See each finding with the command that mends it:\n  nodusctl doctor PROVIDER",
    ),
    "QuotaExceeded": (
        "A quota of the account is used up.",
        "Stop something that counts against it, or ask for a higher quota.",
    ),
    "RequestEntityTooLarge": (
        "The input is larger than is accepted.",
        "Split it.",
    ),
    "RequestInProgress": (
        "The same request, by its idempotency key, is still being worked on.",
        "Wait for its answer, then repeat.",
    ),
    "SecretValueInEnv": (
        "An environment variable holds a literal whose name or value looks like a secret. It would stand in plans, logs "
        "and version control.",
        "Put the value into a Secret and refer to it with valueFrom.secretKeyRef. If it is no secret, say so with the "
        "annotation nodus.dev/allow-env: NAME.",
    ),
    "ServerWritten": (
        "The file holds status or metadata that only the program writes, as in the output of get -o yaml. It is ignored.",
        "Nothing needs to be done; remove it to be rid of the note.",
    ),
    "Skipped": (
        "Documents that are not of nodus.dev, or objects that are blocked, were left out. The message counts them.",
        "Name a file by hand to have it read whatever it holds:\n  nodusctl validate FILE",
    ),
    "SnapshotUnreadable": (
        "The file is no snapshot of a state, was changed after it was written, or comes from a newer nodusctl.",
        "Write it again where the state and the providers can be reached:\n  nodusctl state snapshot -o FILE",
    ),
    "StateBehind": (
        "A pulled state lacks what the state here has: a later serial, events or ledger entries. Pushing it would "
        "lose that from the record, though not from the bill.",
        "Pull the state as it is and go on from that, or go back on purpose:\n"
        "  nodusctl state pull -o FILE\n"
        "  nodusctl state restore BACKUP",
    ),
    "StateBusy": (
        "The state is being written by another process and did not become free in time.",
        "Run the command again; if it stays so, see who works on it:\n  nodusctl state show",
    ),
    "StateKeyMissing": (
        "The state holds sealed values, and no key that opens them is in your data folder, your keyring or "
        "NODUSCTL_STATE_KEY. A state of a team is opened by the pair of any member.",
        "Bring the key file back from the computer on which the Secrets were applied, or give its text; in a team "
        "have a member let you in:\n"
        "  export NODUSCTL_STATE_KEY=…\n"
        "  nodusctl config view --origin\n"
        "  nodusctl state keys new",
    ),
    "StateKeyOpen": (
        "The key file can be read by other users, so it is not used.",
        "Close it:\n  chmod 600 FILE",
    ),
    "StateKeyWeak": (
        "The key is too short to protect anything.",
        "Use at least 16 characters, better the 64 hex digits of a key file.",
    ),
    "StateKeyWrong": (
        "The key that was found is not the one this state was sealed with; or the state is a team's, and no copy of "
        "its key is for the pair on this computer.",
        "Find the right one, config says which source won; or have a member let you in:\n"
        "  nodusctl config view --origin\n"
        "  nodusctl state keys new",
    ),
    "StateNewer": (
        "The state was written by a newer nodusctl. An older one would lose what it does not know.",
        "Upgrade this installation:\n  pip install --upgrade nodusctl",
    ),
    "StateNotShared": (
        "The state file lies where nobody else would find it, while machines run elsewhere: in a CI job's checkout they "
        "would be forgotten.",
        "Keep the state where all runs see it, or say with --local-state that this is meant.",
    ),
    "StateNotUsable": (
        "The state's file or folder can't be opened: missing rights, a full disk, a folder in place of a file.",
        "See which, and what mends it:\n  nodusctl doctor",
    ),
    "StateOlder": (
        "The state was written by an older nodusctl and this command only reads, so it does not bring it up to date.",
        "Any command that changes something does it, in one transaction:\n  nodusctl apply",
    ),
    "StateUnreachable": (
        "The PostgreSQL server the state lies on can't be reached, refused the connection, or was lost in the middle "
        "of a commit. What was under way is settled by the next command: it reads what stands, and asks the providers"
        " about whatever is open.",
        "Check state: in nodusctl.yaml, the network, and the password in ~/.pgpass:\n  nodusctl doctor",
    ),
    "StateUnreadable": (
        "The file or database is no state: another program's, or damaged; or a pulled state was edited or cut short. "
        "Nothing was written to it.",
        "Check state: in nodusctl.yaml, or bring the state back from a backup:\n"
        "  nodusctl config view --origin\n"
        "  nodusctl state backup --list",
    ),
    "TooManyDeletes": (
        "More objects are gone from the files than policy.maxDeletes lets a plan remove with their data or in "
        "mid-session. Usually a folder was moved or a glob changed. In CI (--ci) any removal by absence needs a word, unless the plan is "
        "compared with the base branch.",
        "If they should really go, allow the number:\n  nodusctl plan --allow-deletes N",
    ),
    "TooManyRequests": (
        "Too many requests came in a short time.",
        "Wait as long as retryAfterSeconds says, then repeat.",
    ),
    "TrialFailed": (
        "cron has no agent, no keyring, hardly a PATH and none of your variables. Before anything is installed, one tick is made in an "
        "environment as empty as that, and it failed. Nothing was written.",
        "Mend each finding that follows the message (a key in its file, credentials in the provider's file, PATH kept), then repeat:\n"
        "  nodusctl cron install",
    ),
    "Unauthorized": (
        "Nobody is logged in, or the token is not valid.",
        "Log in, or give a valid token.",
    ),
    "Unavailable": (
        "The service or the machine can't answer right now.",
        "Wait a little, then repeat.",
    ),
    "Unsupported": (
        "What the spec asks for can't be kept by any provider it could be placed at, such as an egress rule the kernel "
        "can't enforce. It is refused instead of being pretended.",
        "Remove the field, or choose a provider that can. What each can do:\n  nodusctl providers list\n  nodusctl doctor PROVIDER",
    ),
    "UnsupportedMediaType": (
        "The content type of the request is not accepted.",
        "Send application/json.",
    ),
    "Usage": (
        "The command line can't be read: an unknown command or option, a missing value, or a question with nobody to "
        "answer it (exit code 64).",
        "See the options:\n  nodusctl COMMAND --help",
    ),
    "VolumeBusy": (
        "Another machine has the right to write to the Volume. It keeps it until its end is proved, because two writers "
        "would destroy the content.",
        "Stop its holder first; the message names it:\n  nodusctl stop NAME",
    ),
    "WorkspaceStarting": (
        "The Workspace is not ready yet.",
        "Watch it:\n  nodusctl get ws -w",
    ),
    "WorkspaceToolUnavailable": (
        "The tool was not asked for in spec.tools, or does not run in this session.",
        "See what runs, then add the tool; it takes effect at the next start:\n  nodusctl describe workspace/NAME",
    ),
}
