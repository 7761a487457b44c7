<?php
// The gate of a chat: envelopes of agents-api are taken in only if their pairs are whole; else they are repaired.

$process = proc_open( array( getenv( 'PARE_PROGRAM' ) ?: 'pare', 'lines' ), array( array( 'pipe', 'r' ), array( 'pipe', 'w' ), STDERR ), $pipes );

function pare( string $call, array $envelopes ): array {
	global $pipes;
	fwrite( $pipes[0], json_encode( array( 'call' => $call, 'options' => array( 'as' => 'agents-api' ), 'body' => $envelopes ) ) . "\n" );
	return json_decode( fgets( $pipes[1] ), true );
}

function envelope( string $type, string $role, string $content, array $payload = array() ): array {
	return array( 'schema' => 'agents-api.message', 'version' => 1, 'type' => $type, 'role' => $role, 'content' => $content, 'payload' => (object) $payload, 'metadata' => (object) array() );
}

$list = array(
	envelope( 'text', 'user', 'find it' ),
	envelope( 'tool_call', 'assistant', '', array( 'tool_name' => 'search', 'parameters' => (object) array( 'q' => 'foo' ), 'turn' => 1 ) ),
	envelope( 'text', 'user', 'and?' ),
);
$found  = pare( 'check', $list )['report']['findings'];
$mended = pare( 'fix', $list )['body'];
echo $found[0]['rule'], ' at ', $found[0]['path'], ', then ', count( pare( 'check', $mended )['report']['findings'] ), ', ', $mended[2]['type'], "\n";
