<?php
/**
 * What agents-api's validator promises, on Pare: pairs are checked by `pare lines`, in the shape agents-api.
 */

namespace AgentsAPI\AI;

class WP_Agent_Tool_Pair_Validator {

	public const KIND_ORPHAN_TOOL_CALL   = 'orphan_tool_call';
	public const KIND_ORPHAN_TOOL_RESULT = 'orphan_tool_result';

	public const EVENT_VALIDATED = 'tool_pair_validated';
	public const EVENT_PRUNED    = 'tool_pair_pruned';

	/** The halves of pairs, in the order of the list. */
	public static function validate( array $messages ): array {
		$envelopes = array_map( array( WP_Agent_Message::class, 'normalize' ), array_values( $messages ) );
		if ( array() === $envelopes ) {
			return array();
		}
		$orphans = array();
		foreach ( self::check( $envelopes ) as $finding ) {
			if ( 'orphan-call' !== $finding['rule'] && 'orphan-result' !== $finding['rule'] ) {
				continue; // a result that is late is still one
			}
			$index    = (int) $finding['path'];
			$envelope = $envelopes[ $index ];
			$orphan   = array(
				'index'     => $index,
				'kind'      => 'orphan-call' === $finding['rule'] ? self::KIND_ORPHAN_TOOL_CALL : self::KIND_ORPHAN_TOOL_RESULT,
				'type'      => $envelope['type'],
				'tool_name' => $envelope['payload']['tool_name'] ?? '',
			);
			if ( '' !== ( $envelope['metadata']['tool_call_id'] ?? '' ) ) {
				$orphan['tool_call_id'] = $envelope['metadata']['tool_call_id'];
			}
			$orphans[] = $orphan;
		}
		usort( $orphans, static fn( array $a, array $b ): int => $a['index'] <=> $b['index'] );
		return $orphans;
	}

	public static function is_paired( array $messages ): bool {
		return array() === self::validate( $messages );
	}

	/** The list without them, and what was done. */
	public static function prune( array $messages ): array {
		$source  = array_values( $messages );
		$orphans = self::validate( $source );
		$gone    = array_flip( array_column( $orphans, 'index' ) );
		$left    = array_values( array_diff_key( $source, $gone ) );
		$said    = array( 'total_messages' => count( $source ), 'orphan_count' => count( $orphans ) );
		if ( array() !== $orphans ) {
			$said += array( 'retained_count' => count( $left ), 'removed_indices' => array_keys( $gone ), 'orphans' => $orphans );
		}
		return array(
			'messages' => $left,
			'removed'  => $orphans,
			'events'   => array( array( 'type' => array() === $orphans ? self::EVENT_VALIDATED : self::EVENT_PRUNED, 'metadata' => $said ) ),
		);
	}

	/** One call of the program, which stays open. */
	private static function check( array $envelopes ): array {
		static $pipes = null, $process = null; // the program ends with its resource
		if ( null === $pipes ) {
			$program = getenv( 'PARE_PROGRAM' );
			$process = proc_open( array( $program ? $program : 'pare', 'lines' ), array( array( 'pipe', 'r' ), array( 'pipe', 'w' ), STDERR ), $pipes );
			if ( ! is_resource( $process ) ) {
				throw new \RuntimeException( 'pare could not be started' );
			}
		}
		fwrite( $pipes[0], json_encode( array( 'call' => 'check', 'options' => array( 'as' => 'agents-api' ), 'body' => $envelopes ) ) . "\n" );
		$answer = json_decode( fgets( $pipes[1] ), true );
		if ( isset( $answer['error'] ) ) {
			throw new \RuntimeException( $answer['error']['message'] );
		}
		return $answer['report']['findings'];
	}
}
