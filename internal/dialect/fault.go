package dialect

import "github.com/pare-llm/pare/transcript"

// A fault is something that may be wrong with a request, whoever minds. The
// parsers and checkers raise faults; the rows of the table turn them into
// findings.
type fault uint8

const (
	// Shape, any dialect.
	wrongType fault = iota
	typeMissing
	fieldMissing
	emptyHistory
	loneSurrogate
	duplicateKey
	unknownRole
	roleMissing
	tooManyMessages
	bodyTooLarge

	// Pairs.
	orphanCall
	openCall
	orphanResult
	displacedResult
	duplicateResult
	repeatedCallID
	reusedCallID
	reusedOtherKind
	repeatedServerID
	resultAfterText
	resultAfterMessage
	contentAfterCall
	splitResults
	textAfterResult
	mixedResultTurn
	mixedResultTail
	mixedMedia
	resultWrongRole
	callWrongRole
	serverCallUnpaired
	serverResultUnpaired
	serverResult4Client
	pendingServerMixed
	programMixed
	programNonText
	toolsetMismatch
	idMissing
	callIDMissing
	callIDBlank
	callIDBlankAgain // in one message
	resultIDBlank
	callIDHalf
	resultIDHalf
	idUnderOtherName
	nameMissing
	nameOther // than that of the call
	resultNameMissing
	functionNameMissing
	approvalUnasked
	safetyUnacknowledged
	notContiguous

	// Ids and names.
	idAlphabet
	idTooLong
	idNotNine
	serverIDFormat
	nameEmpty
	nameFormat
	nameTooLong
	itemID
	repeatedItemID

	// Tools and the head of the request.
	toolsUndefined
	toolUndefined
	referenceUnknown
	toolChangeUnknown
	toolDefined // by the history; no fault
	toolAdded   // to those that are loaded; no fault
	calledBy    // a program; no fault
	searched    // by the provider; no fault
	containerMissing
	betaHeaderMissing
	bindingHeaderMissing
	stateConflict
	threadGiven
	samplingGiven
	contextEditOrder
	contextEditConflict

	// Thinking and reasoning.
	thinkingRequired
	thinkingNotFirst
	thinkingLast
	thinkingTextMissing
	thinkingNotEnabled
	signatureMissing
	thinkingBeforeFallback
	thoughtSignatureMissing
	reasoningOrphan
	reasoningUnresolvable
	itemUnresolvable
	reasoningUnsupported
	reasoningPlaintext
	reasoningRequired
	reasoningRequiredByName
	reasoningRequiredNow
	reasoningField
	reasoningFieldPlain
	summaryMissing

	// Content.
	emptyText
	emptyTextInside // of a result
	blankTextBlock
	emptySystemText // beside the messages
	blankSystemText
	emptyMessage
	emptyPart
	emptyAssistant
	emptyAssistantNull
	emptyUser
	emptyOther
	noContentElement
	nullContentFault
	nullContentOther // not the assistant's
	emptySystem
	emptyCalls
	emptyParts
	emptyErrorResult
	nonTextErrorResult
	emptyResult
	argsNotObject
	argsNotJSON
	argsNotString
	freeForm
	resultNotObject
	resultPartType
	partType
	partOfModel
	foreignPart
	chatPart
	chatBlock
	chatCalls
	listContent
	outputMissing
	nullFiller
	foreignMember
	foreignBlockMember
	unknownBlockMember
	encryptedMissing
	citationsMixed
	citationsOfUser
	documentOfAssistant
	imageInTool
	imageUnsupported
	hollowMedia
	statusField
	trailingSpace
	compactionEmpty
	legacyFunction

	// Cache marks.
	tooManyCacheMarks
	cacheMarkEmpty
	cacheMarkThinking
	cacheMarkNested
	cacheMarkAfterMedia
	cacheMarkAtThought
	cacheMarkAlone
	cacheTTLOrder
	cacheAutoConflict

	// Roles and turns.
	firstRole
	firstCall
	lastRole
	lastRoleThinking
	roleRepeats
	roleOrder
	userAfterTool
	systemUnsupported
	systemFirst
	systemPlacement
	turnList
	systemLater
	prefixNotLast
	contentBesideCalls
	loneMessage
	nobodySpeaks
	compactionNotFirst
	compactionTwice

	// unseen is never raised: the rule cannot be decided from the request alone,
	// or is reported as another fault.
	unseen

	faults // how many there are
)

// Ties and notes of a message that stays are carried over with it; notes about the head
// come last.
type filed struct {
	ties  []transcript.Tie
	notes []note
}

// ours takes the ties and notes of message i off those that are left, and those of messages
// in front of it.
func (l *filed) ours(i int, m *transcript.Message) filed { return l.of(i, i+1, m.First, m.End) }

// of is ours for messages in a row, and their blocks.
func (l *filed) of(from, end int, first, last transcript.BlockID) (o filed) {
	n := 0
	for n < len(l.ties) && max(l.ties[n].From, l.ties[n].To) < first {
		n++
	}
	skipped := n
	for n < len(l.ties) && max(l.ties[n].From, l.ties[n].To) < last {
		n++
	}
	o.ties, l.ties = l.ties[skipped:n], l.ties[n:]
	n = 0
	for n < len(l.notes) && l.notes[n].message >= 0 && l.notes[n].message < int32(from) {
		n++
	}
	skipped = n
	for n < len(l.notes) && l.notes[n].message >= int32(from) && l.notes[n].message < int32(end) {
		n++
	}
	o.notes, l.notes = l.notes[skipped:n], l.notes[n:]
	return o
}
